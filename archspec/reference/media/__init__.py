"""Forward passes of transformers' classes on images, videos and audio: inputs, and ways to run them."""
