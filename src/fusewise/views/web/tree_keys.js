// The tree by keyboard: arrow keys move from branch to branch, Enter selects the rows under one.

/** The joins from the root on, each before those under it; `parent` is the place of the join above, -1 for the root. */
const branchesOf = once(() => {
  const ordered = [...joinsOf()].sort((a, b) => a.begin - b.begin || b.end - a.end);
  const above = [];
  return ordered.map((join, i) => {
    while (above.length && ordered[above.at(-1)].end < join.end) above.pop();
    const parent = above.at(-1) ?? -1;
    above.push(i);
    return { join, parent };
  });
});

const treeView = { at: -1 };  // the branch that the keyboard has reached

const isReached = (join) => treeView.at >= 0 && branchesOf()[treeView.at].join === join;

function branchWords({ begin, end, lam, groups }) {
  const label = onlyLabel(tableRows(), begin, end);
  const where = label === null ? "several clusters" : label < 0 ? "outliers" : clusterName(label);
  return `Branch of ${counted(end - begin, "row")} (${where}), joined at lam ${readable(lam)}, where ${counted(groups, "group is", "groups are")} left.`;
}

function startTreeKeys(picture) {
  const { host } = picture;
  const words = document.getElementById("tree-words");
  const branches = branchesOf();
  if (!branches.length) return;
  const reach = (at) => {
    treeView.at = Math.max(0, Math.min(branches.length - 1, at));
    picture.draw();
    host.querySelector(".reached")?.scrollIntoView({ block: "nearest" });
    words.textContent = branchWords(branches[treeView.at].join);
  };
  const choose = () => {
    if (treeView.at < 0) return;
    const { begin, end } = branches[treeView.at].join;
    select(tableRows().subarray(begin, end));
    words.textContent = `${counted(end - begin, "row")} selected.`;
  };
  const leave = () => {
    treeView.at = -1;
    words.textContent = "";
    select(null);
  };
  const keys = {
    ArrowDown: () => reach(treeView.at + 1), ArrowUp: () => reach(treeView.at - 1), Home: () => reach(0), End: () => reach(branches.length - 1),
    ArrowLeft: () => reach(treeView.at < 0 ? 0 : branches[treeView.at].parent),
    ArrowRight: () => reach(branches[treeView.at + 1]?.parent === treeView.at ? treeView.at + 1 : treeView.at),
    Enter: choose, " ": choose, Escape: leave,
  };
  host.tabIndex = 0;
  host.setAttribute("role", "application");
  host.addEventListener("keydown", (event) => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } });
}
