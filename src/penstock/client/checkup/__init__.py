"""What a person who knows clusters would look at first: facts are gathered, and pure checks find what is wrong."""
