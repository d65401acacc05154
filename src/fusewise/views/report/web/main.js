// The map first; the rest a moment later, while the browser is idle, so that the first question about a row is not kept
// waiting. data-ready says how far it is.

const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 0));
const ready = (what) => { document.documentElement.dataset.ready = what; };

startRows();
Promise.resolve(startMap()).then(() => {
  ready("map");
  const rest = [startExplorer, startProfile, startMissing, startPromise];
  const next = () => {
    const start = rest.shift();
    if (!start) return ready("all");
    start();
    idle(next, { timeout: 200 });
  };
  setTimeout(() => idle(next, { timeout: 200 }), 800);
});
