// SPDX-License-Identifier: Apache-2.0
// Prometheus text, as the server writes it: numbers by name, histograms, quantiles.

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a text: by name a list of { labels, value }. */
export function parseMetrics(text) {
  const samples = new Map();
  for (const line of text.split("\n")) {
    const match = line.startsWith("#") ? null : SAMPLE.exec(line.trim());
    if (match === null) {
      continue;
    }
    const [, name, labelText, value] = match;
    const labels = {};
    for (const [, key, escaped] of (labelText ?? "").matchAll(LABEL)) {
      labels[key] = escaped.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    }
    if (!samples.has(name)) {
      samples.set(name, []);
    }
    samples.get(name).push({ labels, value: numberOf(value) });
  }
  return samples;
}

function numberOf(text) {
  return text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text);
}

/** The value of the first sample of that name; NaN without one. */
export function valueOf(samples, name) {
  return samples.get(name)?.[0].value ?? NaN;
}

/** A histogram without labels of its own: upper bounds (the last is infinite) and counts of each bin. */
export function histogramOf(samples, name) {
  const buckets = (samples.get(`${name}_bucket`) ?? [])
    .map(({ labels, value }) => ({ bound: numberOf(labels.le), value }))
    .sort((a, b) => a.bound - b.bound);
  return {
    bounds: buckets.map(({ bound }) => bound),
    counts: buckets.map(({ value }, i) => value - (i > 0 ? buckets[i - 1].value : 0)),
  };
}

/** What came to a histogram since an earlier one; all of it when the server began anew between. */
export function since(histogram, earlier) {
  const differences = histogram.counts.map((count, i) => count - (earlier.counts[i] ?? 0));
  return {
    bounds: histogram.bounds,
    counts: differences.every((count) => count >= 0) ? differences : histogram.counts,
  };
}

export function countOf(histogram) {
  return histogram.counts.reduce((sum, count) => sum + count, 0);
}

/** The value below which that part of all lies, linear within a bin; null without values. */
export function quantile({ bounds, counts }, part) {
  const wanted = part * countOf({ counts });
  let below = 0;
  for (let i = 0; i < counts.length; ++i) {
    if (counts[i] > 0 && below + counts[i] >= wanted) {
      const from = i > 0 ? bounds[i - 1] : 0;
      return Number.isFinite(bounds[i]) ? from + (bounds[i] - from) * (wanted - below) / counts[i] : from;
    }
    below += counts[i];
  }
  return null;
}
