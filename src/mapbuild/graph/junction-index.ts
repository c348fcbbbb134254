import KDBush from 'kdbush'

const NODE_SIZE = 64

/** Builds the kdbush over junctions, index = junction. */
export function indexJunctions(lngE7: Int32Array, latE7: Int32Array): Uint8Array {
  const index = new KDBush(lngE7.length, NODE_SIZE, Int32Array)
  for (let junction = 0; junction < lngE7.length; junction++) index.add(lngE7[junction]!, latE7[junction]!)
  index.finish()
  return new Uint8Array(index.data)
}
