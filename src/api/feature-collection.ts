/**
 * Returns a FeatureCollection as chunks of JSON text, one per batch of features. The first chunk is made
 * after the first batch was read, so that an error of that reading becomes the answer.
 *
 * @param name of the collection, undefined for none
 * @param batches texts of whole Features, or the pieces of one
 */
export async function* collectionText(
  name: string | undefined,
  batches: AsyncIterable<readonly string[] | Generator<string>>,
): AsyncGenerator<string> {
  const head = `{"type":"FeatureCollection",${name === undefined ? '' : `"name":${JSON.stringify(name)},`}"features":[`
  let before = head
  for await (const batch of batches) {
    if (!Array.isArray(batch)) {
      yield before
      yield* batch
    } else if (batch.length > 0) yield before + batch.join(',')
    else continue
    before = ','
  }
  yield before === head ? `${head}]}` : ']}'
}
