"""What runs inside each rank."""
