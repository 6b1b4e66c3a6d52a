// Before the script of every component. Streamlit imports a script anew for every call, and a browser that is still
// loading it ends these imports in any order: what a page showed first may arrive after what it shows now.
const turns = new WeakMap();

function outdated(root, { turn }) {
  const late = turn < turns.get(root);
  if (!late) turns.set(root, turn);
  return late;
}
