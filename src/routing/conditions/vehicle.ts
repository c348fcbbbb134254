/** Vehicle of a request. What is absent is not known: it is within every limit, and no comparison with it holds. */
export interface Vehicle {
  readonly heightM?: number | undefined
  readonly widthM?: number | undefined
  readonly lengthM?: number | undefined
  readonly weightT?: number | undefined
  readonly axleLoadT?: number | undefined
  readonly isHazmat?: boolean | undefined
  /** of rescue services */
  readonly isEmergency?: boolean | undefined
}
