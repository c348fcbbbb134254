// Draws how figures grow with the map, as SVG: one small chart each, both axes logarithmic.

const COLUMNS = 4
const CELL = { width: 200, height: 170 }
const PLOT = { left: 12, top: 34, width: 172, height: 100 }

/**
 * Exponent of the power of the first number that fits the second best: 1 is linear.
 *
 * @param points pairs of positive numbers, at least two
 */
export function slopeOf(points) {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)])
  const mean = (at) => logs.reduce((sum, log) => sum + log[at], 0) / logs.length
  const [meanX, meanY] = [mean(0), mean(1)]
  const over = logs.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  return over / logs.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
}

/**
 * @param rows `nodes`, and a number for each figure
 * @param figures key → title and unit
 * @returns text of an SVG file
 */
export function drawScaling(rows, figures) {
  const entries = Object.entries(figures)
  const width = COLUMNS * CELL.width
  const height = Math.ceil(entries.length / COLUMNS) * CELL.height
  const charts = entries.map(([key, [title, unit]], at) => {
    const x = (at % COLUMNS) * CELL.width
    const y = Math.floor(at / COLUMNS) * CELL.height
    const points = rows.map((row) => [row.nodes, row[key]])
    return `<g transform="translate(${x} ${y})">${chart(points, title, unit)}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
${charts.join('\n')}
</svg>
`
}

/** One chart: the figures as points with their values, and the line of a linear growth from the first of them. */
function chart(points, title, unit) {
  const { left, top, width, height } = PLOT
  const [xs, ys] = [points.map(([x]) => Math.log(x)), points.map(([, y]) => Math.log(y))]
  // the same scale on both axes, so that the slope is the exponent
  const span = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys), 1)
  const place = (i) => [
    left + ((xs[i] - Math.min(...xs)) / span) * width,
    top + height - ((ys[i] - Math.min(...ys)) / span) * height,
  ]
  const places = points.map((_, i) => place(i))
  const line = places.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')
  const marks = places.map(
    ([x, y], i) =>
      `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="#1769aa"/><text x="${x.toFixed(1)}" y="${(y + 15).toFixed(1)}" text-anchor="${i === 0 ? 'start' : 'middle'}" fill="#444">${round(points[i][1])}</text>`,
  )
  const slope = points.length > 1 ? `, nodes ^ ${slopeOf(points).toFixed(2)}` : ''
  return `<text x="${left}" y="16" font-weight="bold">${title}</text><text x="${left}" y="29" fill="#444">${unit}${slope}</text><path d="M${line}" fill="none" stroke="#1769aa" stroke-width="1.5"/>${marks.join('')}`
}

function round(value) {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2)))
}
