export type Child = Node | string | number | null | undefined | false

/** Attributes; a function under `onclick` and the like listens, `true` sets a bare attribute, false and undefined leave it out. */
export type Props = Record<string, unknown>

const SVG = 'http://www.w3.org/2000/svg'
/** Set as properties: their attributes are only what they begin with. */
const AS_PROPERTY = new Set(['value', 'checked', 'selected', 'disabled', 'hidden', 'indeterminate'])

/** An element with its attributes and children. Text is always text: nothing is ever read as HTML. */
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

/** The same for SVG. */
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

/** Puts other children in place of an element's own. */
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

/** An id that no other element has. */
export function freshId(prefix = 'x'): string {
  ids++
  return `${prefix}${ids}`
}
