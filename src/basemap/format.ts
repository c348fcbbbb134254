/** Version of the contents of a base file; a reader refuses a newer one. */
export const BASE_VERSION = 1
/** Last zoom of the tiles; readers draw them larger from there on. */
export const BASE_MAX_ZOOM = 14

/** Layer of the tiles, for TileJSON. */
export interface VectorLayer {
  readonly id: string
  readonly fields: Readonly<Record<string, 'String' | 'Number' | 'Boolean'>>
}

/** Properties of a base file. */
export interface BaseMeta {
  readonly name: string
  /** program and version */
  readonly builtBy: string
  readonly builtFrom: {
    readonly file: string
    readonly sha256: string
    /** time of the data, ISO 8601; null when unknown */
    readonly osmTimestamp: string | null
  }
  readonly attribution: string
  readonly licence: string
  /** west, south, east, north, degrees */
  readonly bbox: readonly [number, number, number, number]
  readonly layers: readonly VectorLayer[]
  readonly counts: Readonly<Record<string, number>>
}

/** Named thing that a search can find. */
export interface NamedThing {
  /** the local name */
  readonly name: string
  /** the name in Latin script, where `name` has none; empty otherwise */
  readonly latin: string
  /** further names, for the search alone */
  readonly otherNames: readonly string[]
  /** kind on the wire, such as `city` or `street` */
  readonly kind: string
  /** class of importance, 0 to 15; lower ones come first */
  readonly rank: number
  /** 0 when unknown */
  readonly population: number
  /** 1e-7 degree */
  readonly lngE7: number
  readonly latE7: number
  /** west, south, east, north, 1e-7 degree */
  readonly bboxE7: readonly [number, number, number, number]
  /** length or area: of several parts of one name near each other, the place is that of the largest */
  readonly weight: number
}

/** Receiver of a base map while it is built. */
export interface BaseSink {
  /** Adds a tile. @param packed gzip; in ascending order of zoom, row and column */
  addTile(z: number, x: number, y: number, packed: Uint8Array): void
  addName(thing: NamedThing): void
  /** Completes the file. @returns its size and what it has */
  finish(meta: BaseMeta): { bytes: number; tiles: number; places: number }
  /** Closes and removes what was written. */
  abandon(): void
}
