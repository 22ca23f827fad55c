"""The images, videos and audios of a forward pass: their sizes, and the modules that run on them."""
