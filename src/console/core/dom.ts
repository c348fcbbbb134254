/** Child of an element; null, undefined and false add nothing. */
export type Child = Node | string | number | null | undefined | false

/**
 * Attributes. A function under `onclick` and the like is a listener; `true` sets an empty attribute, false
 * and undefined none.
 */
type Props = Record<string, unknown>

const SVG = 'http://www.w3.org/2000/svg'
/** Names that are set as properties, because their attributes are initial values only. */
const AS_PROPERTY = new Set(['value', 'checked', 'selected', 'disabled', 'hidden', 'indeterminate'])

/** Creates an HTML element. Strings become text nodes, never HTML. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Child | readonly Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) setProp(element, name, value)
  append(element, children)
  return element
}

/** Creates an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Child | readonly Child[])[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(props)) setProp(element, name, value)
  append(element, children)
  return element
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: (Child | readonly Child[])[]): void {
  element.replaceChildren()
  append(element, children)
}

function append(element: Element, children: (Child | readonly Child[])[]): void {
  for (const child of children.flat() as Child[]) {
    if (child === null || child === undefined || child === false) continue
    element.append(typeof child === 'number' ? String(child) : child)
  }
}

function setProp(element: Element, name: string, value: unknown): void {
  if (value === undefined || value === null || value === false) return
  if (name.startsWith('on') && typeof value === 'function')
    element.addEventListener(name.slice(2), value as EventListener)
  else if (AS_PROPERTY.has(name)) Reflect.set(element, name, value)
  else element.setAttribute(name, value === true ? '' : String(value))
}

let ids = 0

/** Returns an id that no other element has. */
export function freshId(prefix = 'x'): string {
  ids++
  return `${prefix}${ids}`
}
