"""What a user picks: activations, weight priors, readout laws, output channels."""
