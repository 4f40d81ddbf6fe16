"""What a request meets on its way: the API as one value, who asks, what it touches, and how it is refused."""
