/** Tags of an OSM object: key → value. */
export type Tags = ReadonlyMap<string, string>

/** Receiver of the objects of a block. Kinds of objects without a handler are skipped unread. */
export interface BlockVisitor {
  /** nodes without any of `nodeKeys` come without tags; ways without any of `wayKeys` are skipped */
  readonly nodeKeys: readonly string[]
  readonly wayKeys: readonly string[]
  /** `tags` undefined: none of `nodeKeys` */
  node?(id: number, lngE7: number, latE7: number, tags: Tags | undefined): void
  /** `refs[0 … refCount)` are node ids, valid only during the call */
  way?(id: number, tags: Tags, refs: Float64Array, refCount: number): void
  relation?(id: number, tags: Tags, members: readonly Member[]): void
  /** time of the last change of an object that was read, seconds since 1970 */
  timestamp?(epochS: number): void
}

/** Member of a relation. */
export interface Member {
  readonly type: 'node' | 'way' | 'relation'
  readonly id: number
  readonly role: string
}
