import type { Map as MapLibreMap } from 'maplibre-gl'

/** Pixels of the picture's side, at two for each of the page, and of its corners. */
const SIDE = 24
const RADIUS = 6
const EDGE = 2
const PREFIX = 'shield'

/** Returns the name of a shield's picture, which holds its colours. @param fill,edge `#rrggbb` */
export function shieldId(fill: string, edge: string): string {
  return `${PREFIX} ${fill} ${edge}`
}

/** Draws the shields of roads when the map asks for them: it forgets pictures with each style. */
export function drawShields(map: MapLibreMap): void {
  map.setMissingStyleImageResolver((id) => {
    const [prefix, fill, edge] = id.split(' ')
    if (prefix !== PREFIX || fill === undefined || edge === undefined) return
    // the middle is stretched to the text, the corners are not
    map.addImage(id, shieldPicture(fill, edge), {
      pixelRatio: 2,
      stretchX: [[RADIUS, SIDE - RADIUS]],
      stretchY: [[RADIUS, SIDE - RADIUS]],
      content: [EDGE, EDGE, SIDE - EDGE, SIDE - EDGE],
    })
  })
}

/** Picture of a rectangle with round corners, as RGBA. */
export function shieldPicture(
  fill: string,
  edge: string,
): { width: number; height: number; data: Uint8ClampedArray } {
  const data = new Uint8ClampedArray(SIDE * SIDE * 4)
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const inside = depthAt(x + 0.5, y + 0.5)
      // a pixel is covered as far as it lies inside, and is of the edge up to its width
      const cover = Math.max(0, Math.min(1, inside + 0.5))
      const share = Math.max(0, Math.min(1, inside - EDGE + 0.5))
      const at = (y * SIDE + x) * 4
      for (const [i, value] of channels(fill).entries())
        data[at + i] = value * share + (channels(edge)[i] ?? 0) * (1 - share)
      data[at + 3] = cover * 255
    }
  }
  return { width: SIDE, height: SIDE, data }
}

/** Distance of a point from the border, positive inside. */
function depthAt(x: number, y: number): number {
  const half = SIDE / 2
  const dx = Math.abs(x - half) - (half - RADIUS)
  const dy = Math.abs(y - half) - (half - RADIUS)
  const outside = Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0)
  return RADIUS - outside
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
}
