// The map is drawn first; the other pictures follow while the browser is idle, so that the map responds at once.
// The attribute data-ready tells what has been drawn.

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
