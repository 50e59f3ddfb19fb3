"""Authorization that needs no person: `machine` has the grants, `dpop` binds tokens to a key."""
