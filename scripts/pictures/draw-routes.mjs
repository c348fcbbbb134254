// Draws the demo town with two routes as SVG.

const WIDTH = 640

/**
 * @param roads { isMain, line } each, `line` in [lng, lat] degrees
 * @param cells GeoJSON Features of the flood
 * @param quickest line of the route through the flood
 * @param detour line of the route that avoids it
 * @returns text of an SVG file
 */
export function drawRoutes({ roads, cells, quickest, detour, start, goal }) {
  const [west, south, east, north] = boundsOf(roads.flatMap(({ line }) => line))
  const lngScale = Math.cos(((south + north) / 2) * (Math.PI / 180))
  const scale = (WIDTH - 20) / ((east - west) * lngScale)
  const height = Math.round((north - south) * scale) + 20
  const xy = ([lng, lat]) =>
    `${(10 + (lng - west) * lngScale * scale).toFixed(1)} ${(10 + (north - lat) * scale).toFixed(1)}`
  const pathOf = (line) => `M${line.map(xy).join('L')}`
  const streets = roads
    .filter(({ isMain }) => !isMain)
    .map(({ line }) => pathOf(line))
    .join('')
  const mains = roads
    .filter(({ isMain }) => isMain)
    .map(({ line }) => pathOf(line))
    .join('')
  const water = cells.map(({ geometry }) => `${pathOf(geometry.coordinates[0])}Z`).join('')
  const dot = (place, name) => {
    const [x, y] = xy(place).split(' ').map(Number)
    return `<circle cx="${x}" cy="${y}" r="6" fill="#222"/><text x="${x + 10}" y="${y + 5}" font-weight="bold">${name}</text>`
  }
  const legend = [
    ['#d33', 'quickest route'],
    ['#282', 'route that avoids the flood'],
  ].map(
    ([color, text], at) =>
      `<path d="M20 ${28 + at * 22}h30" stroke="${color}" stroke-width="5"/><text x="58" y="${33 + at * 22}">${text}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="15" role="img" aria-label="Two routes through the demo town: one through the flood, one round it">
<rect width="100%" height="100%" fill="#fbfaf7"/>
<path d="${water}" fill="#9cc9ee" stroke="#6fa9d8"/>
<g fill="none" stroke-linecap="round" stroke-linejoin="round">
<path d="${streets}" stroke="#c9c4ba" stroke-width="1.5"/>
<path d="${mains}" stroke="#a59d8c" stroke-width="2.5"/>
<path d="${pathOf(detour)}" stroke="#282" stroke-width="5"/>
<path d="${pathOf(quickest)}" stroke="#d33" stroke-width="5"/>
</g>
${dot(start, 'start')}${dot(goal, 'goal')}
<g fill="none"><rect x="10" y="10" width="262" height="56" fill="#fff" opacity=".9"/></g>
${legend.join('')}
</svg>
`
}

function boundsOf(points) {
  const lngs = points.map(([lng]) => lng)
  const lats = points.map(([, lat]) => lat)
  return [Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats)]
}
