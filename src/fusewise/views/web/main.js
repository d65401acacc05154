// The map is drawn first; the other pictures follow while the browser is idle, so that the map responds at once.
// The attribute data-ready tells what has been drawn.

const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 0));
const ready = (what) => { document.documentElement.dataset.ready = what; };

startPartitions();
startPictures();
startMap();
if (hasRows) startRows();
startExports();
startFolds();
ready("map");
const rest = [startContrasts, startProfile, startClusterMap, startMissing, startPath, startGuarantee];
const next = () => {
  const start = rest.shift();
  if (!start) return ready("all");
  start();
  return idle(next, { timeout: 100 });
};
idle(next, { timeout: 100 });
