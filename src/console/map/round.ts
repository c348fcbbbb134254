/** Place of the map's library as the page keeps it: rounded to 1e-7 degree, about a centimetre. */
export function roundPlace({ lng, lat }: { lng: number; lat: number }): [number, number] {
  return [round(lng), round(lat)]
}

function round(degrees: number): number {
  return Math.round(degrees * 1e7) / 1e7
}
