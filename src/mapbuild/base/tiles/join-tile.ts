import { LAYERS } from '../../../basemap/layers.js'
import { createLineSet } from '../../../tiles/line-set.js'
import { type TileFeature, writeLayers } from '../../../tiles/write-tile.js'
import { signedArea2 } from '../shape/nest-rings.js'
import { AREA, LINE, type Piece } from './piece.js'

/** A larger tile, before it is packed, loses its smallest features. */
const MAX_BYTES = 1_500_000
/** Points of a tile that are kept in memory; pieces beyond are left out. */
const MAX_POINTS = 4_000_000

/** Finished tile. */
export interface JoinedTile {
  readonly bytes: Uint8Array
  /** pieces that had no room */
  readonly dropped: number
  /** layers that are in the tile, by their numbers */
  readonly layers: ReadonlySet<number>
}

/** Collector of the pieces of one tile. */
export interface TileJoin {
  add(piece: Piece): void
  /** @returns undefined when nothing is drawn */
  finish(): JoinedTile | undefined
}

/** Feature with its size, which decides what goes when there is no room. */
interface Sized {
  readonly feature: TileFeature
  readonly layer: number
  readonly size: number
}

/** Creates an empty tile. Lines with the same properties are joined at their ends. */
export function createTileJoin(): TileJoin {
  const pieces: Piece[] = []
  let points = 0
  let dropped = 0
  return {
    add(piece) {
      points += piece.parts.reduce((sum, part) => sum + part.length / 2, 0)
      if (points > MAX_POINTS) dropped++
      else pieces.push(piece)
    },
    finish() {
      let features = featuresOf(pieces)
      if (features.length === 0) return undefined
      let bytes = write(features)
      while (bytes.length > MAX_BYTES && features.length > 1) {
        const kept = largest(features, Math.ceil(features.length * Math.min(0.9, MAX_BYTES / bytes.length)))
        dropped += features.length - kept.length
        features = kept
        bytes = write(features)
      }
      return { bytes, dropped, layers: new Set(features.map(({ layer }) => layer)) }
    },
  }
}

function featuresOf(pieces: readonly Piece[]): Sized[] {
  const features: Sized[] = []
  const lines = new Map<string, { layer: number; props: string; set: ReturnType<typeof createLineSet> }>()
  for (const { layer, type, props, parts } of pieces) {
    if (type === LINE) {
      const key = `${layer} ${props}`
      let group = lines.get(key)
      if (group === undefined) {
        group = { layer, props, set: createLineSet(1) }
        lines.set(key, group)
      }
      for (const part of parts) group.set.add(part)
    } else {
      const size = type === AREA ? Math.abs(signedArea2(parts[0]!)) : Number.MAX_VALUE
      features.push({
        layer,
        size,
        feature: { id: undefined, type, properties: JSON.parse(props), lines: parts },
      })
    }
  }
  for (const { layer, props, set } of lines.values()) {
    const parts = set.lines()
    if (parts.length === 0) continue
    const feature: TileFeature = { id: undefined, type: LINE, properties: JSON.parse(props), lines: parts }
    // lines count by their points: they are few after they were joined
    features.push({ layer, size: parts.reduce((sum, part) => sum + part.length, 0) * 64, feature })
  }
  return features
}

function write(features: readonly Sized[]): Uint8Array {
  return writeLayers(
    LAYERS.map((name, layer) => ({
      name,
      features: features.filter((each) => each.layer === layer).map(({ feature }) => feature),
    })).filter((layer) => layer.features.length > 0),
  )
}

/** Keeps the largest features in their order. */
function largest(features: readonly Sized[], count: number): Sized[] {
  const order = [...features.keys()].sort((a, b) => features[b]!.size - features[a]!.size || a - b)
  const kept = new Set(order.slice(0, Math.max(1, Math.min(count, features.length - 1))))
  return features.filter((_, i) => kept.has(i))
}
