// Scales: from values to pixels, with ticks.

/** Round numbers that divide a range into about `count` parts. */
function roundTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step + 0);  // not −0
  return ticks;
}

/** A linear scale from [low, high] to [from, to]; `format` writes its ticks. */
function linearScale([low, high], [from, to], { count = 5, format = readable, whole = false } = {}) {
  const room = high > low ? high - low : 1;
  const at = (value) => from + ((value - low) / room) * (to - from);
  const back = (pixel) => low + ((pixel - from) / (to - from)) * room;
  const values = roundTicks(low, high, count), distinct = new Set(values.map(format)).size === values.length;
  // Years 2007 to 2009 have no ticks at the half, which would read the same as the next.
  const kept = distinct && !whole ? values : values.filter(Number.isInteger);
  return { at, back, ticks: kept.map((value) => ({ at: at(value), text: format(value) })) };
}

/** A logarithmic scale, with ticks at 1, 2 and 5 times each power of ten (only at 1, if these are too many; at round numbers, if too few). */
function logScale([low, high], [from, to], { count = 6 } = {}) {
  const room = Math.log(high / low) || 1;
  const at = (value) => from + (Math.log(Math.max(value, low) / low) / room) * (to - from);
  const decades = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) decades.push(10 ** e);
  const inside = (values) => values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  const fine = inside(decades.flatMap((unit) => [unit, 2 * unit, 5 * unit]));
  const some = fine.length <= count ? fine : inside(decades);
  if (some.length < 2) return { at, ticks: inside(roundTicks(low, high, 3)).map((value) => ({ at: at(value), text: readable(value) })) };
  const kept = some.length <= count ? some : some.filter((_, i) => i % Math.ceil(some.length / count) === 0);
  return { at, ticks: kept.map((value) => ({ at: at(value), text: readable(value) })) };
}

/** A scale that is nearly linear up to `soft` and logarithmic beyond, on both sides of 0: for skewed columns. */
function softScale([low, high], [from, to], soft, { count = 5 } = {}) {
  const [a, b] = [Math.asinh(low / soft), Math.asinh(high / soft)];
  const at = (value) => from + ((Math.asinh(value / soft) - a) / (b - a || 1)) * (to - from);
  const sizes = [];
  for (let e = Math.floor(Math.log10(soft)); e <= Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)))); e++) sizes.push(10 ** e);
  const round = [...sizes.map((size) => -size).reverse(), 0, ...sizes].filter((value) => value >= low && value <= high);
  const apart = (0.9 * Math.abs(to - from)) / count;
  const ticks = [];
  for (const value of round) if (!ticks.length || at(value) - ticks[ticks.length - 1].at >= apart) ticks.push({ at: at(value), text: readable(value) });
  return { at, ticks: ticks.length > 1 ? ticks : linearScale([low, high], [from, to], { count: 2 }).ticks.map(({ text }) => text && { at: at(Number(text.replace(/,/g, "").replace("−", "-"))), text }) };
}

/** A scale of `n` equal bands; `at(i)` is where band i begins, `middle(i)` its middle. */
function bandScale(n, [from, to]) {
  const size = (to - from) / Math.max(n, 1);
  return { size, at: (i) => from + i * size, middle: (i) => from + (i + 0.5) * size, back: (pixel) => Math.floor((pixel - from) / size) };
}
