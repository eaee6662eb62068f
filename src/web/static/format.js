// SPDX-License-Identifier: Apache-2.0
// Numbers for readers.

/** "12", "3.4", "0.25", "1,200": three digits or all that stand before the point. */
export function numberText(value) {
  if (!Number.isFinite(value)) {
    return "–";
  }
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number(value.toFixed(digits)).toLocaleString("en-US");
}

/** "40.3 %", "3.25 %", "< 0.01 %": what is not nothing is not shown as nothing. */
export function percentText(part) {
  if (!Number.isFinite(part)) {
    return "–";
  }
  const percent = part * 100;
  if (percent > 0 && percent < 0.01) {
    return "< 0.01 %";
  }
  return `${Number(percent.toFixed(percent !== 0 && percent < 10 ? 2 : 1))} %`;
}

/** "12 ms", "1.5 s". */
export function secondsText(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) {
    return "–";
  }
  return seconds < 1 ? `${numberText(seconds * 1000)} ms` : `${numberText(seconds)} s`;
}
