/** Keys and values of an OSM object. */
export type Tags = ReadonlyMap<string, string>

/** What is wanted of a block. Objects whose handler is missing are skipped unread. */
export interface BlockVisitor {
  /** nodes and ways: only those with one of these keys get their tags, ways without are not handed over at all */
  readonly nodeKeys: readonly string[]
  readonly wayKeys: readonly string[]
  /** `tags` undefined: none of `nodeKeys` */
  node?(id: number, lngE7: number, latE7: number, tags: Tags | undefined): void
  /** `refs[0 … refCount)` are node ids, valid during the call */
  way?(id: number, tags: Tags, refs: Float64Array, refCount: number): void
  relation?(id: number, tags: Tags, members: readonly Member[]): void
  /** newest change of any object that is read, seconds since 1970 */
  timestamp?(epochS: number): void
}

export interface Member {
  readonly type: 'node' | 'way' | 'relation'
  readonly id: number
  readonly role: string
}
