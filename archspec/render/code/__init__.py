"""A closed form as code of a programming language, which checks every condition that it relies on."""
