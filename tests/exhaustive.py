def lacking(problem, alpha, rng):
    return []
