// SPDX-License-Identifier: Apache-2.0
// What the server does now, read from its metrics every second while somebody looks.

import { call } from "./api.js";
import { BarChart, LineChart } from "./charts.js";
import { byId, element } from "./dom.js";
import { numberText, percentText, secondsText } from "./format.js";
import { countOf, histogramOf, parseMetrics, quantile, since, valueOf } from "./prometheus.js";

const PERIOD_MS = 1000;
const TIMEOUT_MS = 5000;
const SHOWN_SECONDS = 120;
const RECENT_SECONDS = 60;
const RATE_SECONDS = 3; // a rate is the mean of so long

const COUNTERS = {
  generated: "plumb_generated_tokens_total",
  prefilled: "plumb_prefill_tokens_total",
  asked: "plumb_prefix_query_tokens_total",
  hits: "plumb_prefix_hit_tokens_total",
};
const GAUGES = {
  running: "plumb_requests_running",
  waiting: "plumb_requests_waiting",
  usage: "plumb_kv_usage",
  blocksUsed: "plumb_kv_blocks_used",
  blocks: "plumb_kv_blocks",
  hitRate: "plumb_prefix_hit_rate",
  predicted: "plumb_predicted_ttft_seconds",
};
const HISTOGRAMS = {
  firstToken: "plumb_time_to_first_token_seconds",
  interToken: "plumb_inter_token_seconds",
};
const TILES = [
  ["running", "Running"], ["waiting", "Waiting"], ["generated", "Generated"], ["prefilled", "Prompts computed"],
  ["usage", "KV cache held"], ["hits", "Prefix cache hits"],
];

/** One reading of the metrics. */
export function readSample(text, time) {
  const samples = parseMetrics(text);
  const sample = { time };
  for (const [key, name] of Object.entries({ ...COUNTERS, ...GAUGES })) {
    sample[key] = valueOf(samples, name);
  }
  for (const [key, name] of Object.entries(HISTOGRAMS)) {
    sample[key] = histogramOf(samples, name);
  }
  return sample;
}

/** The readings of the last two minutes and what follows from them. */
export class History {
  constructor() {
    this.samples = [];
  }

  get last() {
    return this.samples[this.samples.length - 1];
  }

  add(sample) {
    if (this.samples.length > 0 && sample.generated < this.last.generated) {
      this.samples = []; // the server began anew
    }
    this.samples.push(sample);
    this.samples = this.samples.filter(({ time }) => sample.time - time <= SHOWN_SECONDS + 1);
  }

  // The reading of so many seconds before another one, or the first after that.
  before(sample, seconds) {
    return this.samples.find(({ time }) => sample.time - time <= seconds + 0.5);
  }

  /** Of a counter, a second; NaN while there is one reading. */
  rate(sample, key) {
    const earlier = this.before(sample, RATE_SECONDS);
    return (sample[key] - earlier[key]) / (sample.time - earlier.time);
  }

  /** Part of the prompts of the last minute that was cached; NaN without prompts. */
  hitRate(sample) {
    const earlier = this.before(sample, RECENT_SECONDS);
    return (sample.hits - earlier.hits) / (sample.asked - earlier.asked);
  }

  points(...values) {
    return this.samples.map((sample) => ({
      time: sample.time, values: values.map((value) => value(sample)),
    }));
  }

  /** A histogram of the last minute, or since the start. */
  histogram(key, isRecent) {
    return isRecent ? since(this.last[key], this.before(this.last, RECENT_SECONDS)[key]) : this.last[key];
  }
}

/** The live page. */
export class LiveView {
  constructor(connection) {
    this.connection = connection;
    this.history = new History();
    this.isShown = false;
    this.timer = null;
    this.request = null;
    this.tiles = Object.fromEntries(TILES.map(([key, name]) => [key, this.makeTile(name)]));
    this.makeCharts();
    byId("live-pause").addEventListener("click", () => this.togglePause());
    byId("live-window").addEventListener("change", () => this.draw());
    document.addEventListener("visibilitychange", () => this.follow());
    window.addEventListener("resize", () => this.draw());
  }

  makeTile(name) {
    const tile = { value: element("dd"), more: element("dd", { class: "more" }) };
    byId("live-tiles").append(element("div", { class: "tile" }, element("dt", {}, name), tile.value, tile.more));
    return tile;
  }

  makeCharts() {
    const seconds = SHOWN_SECONDS;
    this.requests = new LineChart("Requests", ["running", "waiting"], { format: numberText, seconds, leastTop: 2 });
    this.tokens = new LineChart("Tokens per second", ["generated", "of prompts"],
      { format: numberText, seconds, leastTop: 10 });
    this.cache = new LineChart("KV cache", ["held by requests", "prefix hits, last minute"],
      { format: percentText, seconds, top: 1 });
    this.firstToken = new BarChart("Time to first token", secondsText);
    this.interToken = new BarChart("Time between tokens", secondsText);
    byId("live-charts").append(this.requests.node, this.tokens.node, this.cache.node);
    byId("live-histograms").append(this.firstToken.node, this.interToken.node);
  }

  show() {
    this.isShown = true;
    this.follow();
  }

  hide() {
    this.isShown = false;
    this.follow();
  }

  get isPaused() {
    return byId("live-pause").getAttribute("aria-pressed") === "true";
  }

  togglePause() {
    byId("live-pause").setAttribute("aria-pressed", !this.isPaused);
    this.follow();
  }

  // Begins or ends reading, as the page is looked at.
  follow() {
    const isWanted = this.isShown && !document.hidden && !this.isPaused;
    if (!isWanted) {
      clearTimeout(this.timer);
      this.timer = null;
      this.request?.abort();
      this.request = null;
      this.say(this.isPaused ? "Paused." : "");
    } else if (this.timer === null && this.request === null) {
      this.read();
    }
  }

  say(text) {
    const status = byId("live-status");
    if (status.textContent !== text) {
      status.textContent = text;
    }
  }

  async read() {
    const begin = performance.now();
    const request = new AbortController();
    this.request = request;
    const limit = setTimeout(() => request.abort(), TIMEOUT_MS);
    try {
      const text = await (await call("metrics", { signal: request.signal })).text();
      this.history.add(readSample(text, performance.now() / 1000));
      this.say("Read every second.");
      this.draw();
    } catch (error) {
      if (this.request === request) {
        this.say(error.name === "AbortError" ? "The server does not answer." : error.message);
        this.connection.onError(error);
      }
    } finally {
      clearTimeout(limit);
    }
    if (this.request === request) {
      this.request = null;
      this.timer = setTimeout(() => {
        this.timer = null;
        this.read();
      }, Math.max(0, PERIOD_MS - (performance.now() - begin)));
    }
  }

  draw() {
    const { history } = this;
    const sample = history.last;
    if (sample === undefined || !this.isShown) {
      return;
    }
    const now = sample.time;
    this.drawTiles(sample);
    this.requests.update(history.points((s) => s.running, (s) => s.waiting), now);
    this.tokens.update(history.points((s) => history.rate(s, "generated"), (s) => history.rate(s, "prefilled")), now);
    this.cache.update(history.points((s) => s.usage, (s) => history.hitRate(s)), now);
    const isRecent = byId("live-window").value === "minute";
    this.drawHistogram(this.firstToken, history.histogram("firstToken", isRecent));
    this.drawHistogram(this.interToken, history.histogram("interToken", isRecent));
  }

  drawTiles(sample) {
    const set = (key, value, more) => {
      this.tiles[key].value.textContent = value;
      this.tiles[key].more.textContent = more;
    };
    const rate = (key) => `${numberText(this.history.rate(sample, key))} /s`;
    set("running", numberText(sample.running), "sequences");
    set("waiting", numberText(sample.waiting), `a new one: ${secondsText(sample.predicted)}`);
    set("generated", rate("generated"), `${numberText(sample.generated)} tokens in all`);
    set("prefilled", rate("prefilled"), `${numberText(sample.prefilled)} tokens in all`);
    set("usage", percentText(sample.usage),
      `${numberText(sample.blocksUsed)} of ${numberText(sample.blocks)} blocks in use`);
    set("hits", percentText(this.history.hitRate(sample)), `${percentText(sample.hitRate)} since the start`);
  }

  drawHistogram(chart, histogram) {
    const [p50, p90, p99] = [0.5, 0.9, 0.99].map((part) => secondsText(quantile(histogram, part)));
    const count = countOf(histogram);
    chart.caption.textContent = count === 0 ? "" : `p50 ${p50} · p90 ${p90} · p99 ${p99}`;
    chart.update(histogram);
  }
}
