"""Ways to move frames: `base` is the contract, the others implement it."""
