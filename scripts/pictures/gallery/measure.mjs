// What is wrong with the layout of a page of the console, found in the browser.

/**
 * Function for a browser's page: lines about what is wider than the page, text that its box cuts off, times that do not
 * fit their field, popups that leave their map, buttons with the browser's own look, and controls of one row that
 * differ in height. Boxes that scroll, and text for screen readers alone, may hold more than they show.
 */
export function layoutFaults() {
  const root = document.documentElement
  const faults = []
  const nameOf = (element) => {
    const text = (element.textContent ?? '').trim().slice(0, 40)
    return `${element.localName}.${String(element.className).replace(/\s+/g, '.')} “${text}”`
  }
  const isSeen = (element) => {
    if (!element.checkVisibility({ checkOpacity: true, visibilityProperty: true })) return false
    if (element.closest('.hidden-text, .skip, .maplibregl-map, svg') !== null) return false
    for (let box = element; box !== null; box = box.parentElement)
      if (getComputedStyle(box).clipPath !== 'none') return false
    return true
  }
  const scrolls = (element) => {
    for (let box = element; box !== null && box !== root; box = box.parentElement)
      if (/auto|scroll|hidden/.test(getComputedStyle(box).overflowX)) return true
    return false
  }
  const pen = document.createElement('canvas').getContext('2d')
  const widthOf = (text, element) => {
    pen.font = getComputedStyle(element).font
    return pen.measureText(text).width
  }
  const width = root.clientWidth
  if (root.scrollWidth > width) faults.push(`the page is ${root.scrollWidth} px wide, expected ${width}`)
  if ((document.querySelector('main')?.textContent ?? '').trim().length < 10) faults.push('the page is empty')
  for (const element of document.body.querySelectorAll('*')) {
    if (!isSeen(element)) continue
    const { overflowX, overflowY, textOverflow } = getComputedStyle(element)
    const isText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
    const isControl = element.matches('input, select, textarea')
    const isWider = element.scrollWidth > element.clientWidth + 1
    if (/hidden|clip/.test(overflowX) && textOverflow !== 'ellipsis' && isWider && !isControl)
      faults.push(`cut at the right by ${element.scrollWidth - element.clientWidth} px: ${nameOf(element)}`)
    if (/hidden|clip/.test(overflowY) && isText && element.scrollHeight > element.clientHeight + 2)
      faults.push(`cut at the bottom: ${nameOf(element)}`)
    if (element.matches('.button, select') && isWider)
      faults.push(`wider than its control: ${nameOf(element)}`)
    if (element.localName === 'select' && element.offsetWidth > 0) {
      const text = element.selectedOptions[0]?.label ?? ''
      const needed = Math.round(widthOf(text, element)) + 34 // its borders, paddings and arrow
      // a name without blanks is data, and may be longer than any list
      if (/[ \u3000-\u9fff]/.test(text) && needed > element.offsetWidth)
        faults.push(`cut at the right by ${needed - element.offsetWidth} px: select “${text}”`)
    }
    if (element.localName === 'button' && getComputedStyle(element).appearance !== 'none')
      faults.push(`a button with the browser's own look: ${nameOf(element)}`)
    const box = element.getBoundingClientRect()
    if (element.matches('input[type=datetime-local]')) {
      const { width: given } = element.style
      element.style.width = 'max-content'
      const needed = Math.round(element.getBoundingClientRect().width)
      element.style.width = given
      if (needed > box.width + 1)
        faults.push(`a time needs ${needed} px, its field has ${Math.round(box.width)}`)
    }
    if (box.width > 0 && (box.right > width + 1 || box.left < -1) && !scrolls(element))
      faults.push(
        `outside the page, from ${Math.round(box.left)} to ${Math.round(box.right)} px: ${nameOf(element)}`,
      )
  }
  for (const popup of document.body.querySelectorAll('.maplibregl-popup-content')) {
    const [inner, outer] = [popup, popup.closest('.maplibregl-map')].map((each) =>
      each.getBoundingClientRect(),
    )
    if (inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1)
      faults.push(`a popup leaves its map: ${nameOf(popup)}`)
  }
  for (const row of document.body.querySelectorAll('.row')) {
    const controls = row.querySelectorAll(
      ':scope > :is(.button, input:not([type=checkbox]), select), :scope > .field > :is(input, select)',
    )
    const heights = [...controls]
      .filter(isSeen)
      .map((each) => Math.round(each.getBoundingClientRect().height))
    const [least, most] = [Math.min(...heights), Math.max(...heights)]
    if (heights.length > 1 && most - least > 1)
      faults.push(`controls of one row are ${least} and ${most} px high: ${nameOf(row)}`)
  }
  return faults.slice(0, 20)
}
