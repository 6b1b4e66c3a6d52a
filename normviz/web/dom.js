// Find and make elements of a page.

/**
 * Return the first element below the root that matches a selector.
 * @template {Element} T
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} type the element's class
 * @returns {T}
 * @throws {Error} there is none, or it has another class
 */
export function find(root, selector, type) {
  const found = root.querySelector(selector);
  if (found instanceof type) return found;
  throw new Error(`${selector} is ${found ? `a ${found.constructor.name}` : "not there"}; a ${type.name} is expected`);
}

/**
 * Return the target of an event or its nearest ancestor that matches a selector, or null.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | SVGElement | null}
 */
export const findClosest = ({ target }, selector) => (target instanceof Element ? target.closest(selector) : null);

/**
 * Return a data attribute of the element that has the keyboard's focus, in the document or shadow root of a node.
 * @param {Node} node
 * @param {string} name
 */
export function readFocused(node, name) {
  const tree = node.getRootNode();
  const focused = tree instanceof Document || tree instanceof ShadowRoot ? tree.activeElement : null;
  return focused instanceof HTMLElement || focused instanceof SVGElement ? focused.dataset[name] : undefined;
}

/**
 * Focus the first element that matches, if any, without scrolling.
 * @param {ParentNode} root
 * @param {string} selector
 */
export function focusOn(root, selector) {
  const found = root.querySelector(selector);
  if (found instanceof HTMLElement || found instanceof SVGElement) found.focus({ preventScroll: true });
}

/**
 * Write a text into an element, which is hidden without one; a screen reader repeats what is written again.
 * @param {HTMLElement} node
 * @param {string} text
 */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = !text;
}

/**
 * Make an element of HTML with these properties and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} properties
 * @param {(Node | string)[]} children
 */
export function makeElement(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  Object.assign(node, properties);
  node.append(...children);
  return node;
}

/**
 * Count an update of a component in its root; tests wait for the count.
 * @param {HTMLElement} root
 */
export function countDrawing(root) {
  root.dataset.drawn = String(Number(root.dataset.drawn ?? 0) + 1);
}
