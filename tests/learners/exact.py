"""Exact posteriors of very small problems, and statistics over independent chains."""

import itertools

import numpy as np


def enumerated(instance, atoms, log_probabilities, statistic):
    """Posterior mean of ``statistic(weights)`` over every assignment of atoms to the k × d weights."""
    shape = (instance.k, instance.d)
    log_weight, values = [], []
    for choice in itertools.product(range(len(atoms)), repeat=instance.k * instance.d):
        w = np.take(atoms, choice).reshape(shape)
        likelihood = instance.problem.channel.log_likelihood(instance.labels, instance.outputs(w))
        log_weight.append(np.sum(likelihood) + np.sum(np.take(log_probabilities, choice)))
        values.append(statistic(w))
    weight = np.exp(np.array(log_weight) - np.max(log_weight))
    return np.average(np.array(values), axis=0, weights=weight)


def on_a_grid(instance, statistic, reach, n_points=161):
    """Posterior mean of ``statistic(weights)`` for kd = 2 weights, by the trapezoid rule on a square."""
    axis = np.linspace(-reach, reach, n_points)
    log_weight, values = [], []
    for pair in itertools.product(axis, axis):
        w = np.array(pair).reshape(instance.k, instance.d)
        likelihood = instance.problem.channel.log_likelihood(instance.labels, instance.outputs(w))
        log_weight.append(np.sum(likelihood) + np.sum(instance.problem.weights.log_density(w)))
        values.append(statistic(w))
    weight = np.exp(np.array(log_weight) - np.max(log_weight))
    return np.average(np.array(values), axis=0, weights=weight)


def z_score(samples, exact=0.0):
    """Distance of a mean of independent samples from its exact value, in standard errors."""
    samples = np.asarray(samples, dtype=float)
    error = samples.std(ddof=1) / np.sqrt(samples.size)
    return float((samples.mean() - exact) / error)


def chain_means(run, name, order=None):
    """Mean of an observable over the settled part of each chain: independent numbers."""
    values = run.settled[name]
    if order is not None:
        values = values.sel(order=order)
    return values.mean("draw").to_numpy()
