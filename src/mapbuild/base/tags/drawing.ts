import type { LayerName } from '../../../basemap/layers.js'

/** Value of a property in a tile. */
export type Props = Readonly<Record<string, string | number | boolean>>

/** Appearance of an object in one layer. */
export interface Drawing {
  readonly layer: LayerName
  /** first zoom */
  readonly minZoom: number
  /** Returns the properties at a zoom: lower ones have fewer, so that more lines can be joined. */
  props(zoom: number): Props
}

/** Names of an object. */
export interface Names {
  readonly name: string
  readonly latin: string
  readonly others: readonly string[]
}

/** Named object for the search. */
export interface Named extends Names {
  readonly kind: string
  readonly rank: number
  readonly population: number
}

/** Everything that an object is drawn and found as. */
export interface Drawings {
  /** as an area with its holes */
  readonly areas: readonly Drawing[]
  readonly lines: readonly Drawing[]
  /** as a point: a node, or a point inside an area */
  readonly points: readonly Drawing[]
  readonly named: Named | undefined
}

export const NOTHING: Drawings = { areas: [], lines: [], points: [], named: undefined }

/** Returns a drawing whose properties are the same at all zooms. */
export function drawing(layer: LayerName, minZoom: number, props: Props): Drawing {
  return { layer, minZoom, props: () => props }
}
