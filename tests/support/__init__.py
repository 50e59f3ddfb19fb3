"""What several tests use: peers that do as they are told, faults on demand, the official schemas."""
