// Types that several components share.

/** The argument of a component's default export, made by Streamlit; see normviz/web/components/component.py. */
export interface Given {
  /** The number of the turn as float64, then the data of `pack_message`; `readLatest` of data.js reads them. */
  data: Uint8Array;
  /** The element that holds the markup: a shadow root where the styles are isolated. */
  parentElement: ParentNode;
  /** Send a value that the session keeps. */
  setStateValue: SetValue;
  /** Send a value for one run of the page. */
  setTriggerValue: SetValue;
}

export type SetValue = (name: string, value: unknown) => void;

/** An array of one axis as `packed` sends it: a typed array; a list where it is empty, or was a list in Python. */
export type Numbers = ArrayLike<number> & Iterable<number>;

/** One number for each axis of a tensor. */
export type Index = number[];

/** The start of a range and its end, which is not part of it. */
export type Range = [number, number];

/** Numbers in row-major order, and their shape: 1 or a smaller number along an axis whose elements share them. */
export interface Statistic {
  values: Numbers;
  shape: number[];
}
