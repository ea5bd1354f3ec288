"""What scoring scripts import to handle requests and responses themselves."""
