/** GeoJSON Feature. */
export interface Feature {
  readonly type: 'Feature'
  readonly id?: string | number
  readonly geometry: { readonly type: string } | null
  readonly properties: Readonly<Record<string, unknown>>
}
