/** A point of a request as it was given, with the name of its parameter. */
export interface RequestPoint {
  /** `start_lonlat`, `via[3]`: for messages */
  readonly role: string
  readonly lng: number
  readonly lat: number
}
