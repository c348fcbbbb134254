/**
 * A FeatureCollection as chunks of JSON text, one for each batch of features. The first chunk is made after the first
 * batch was read, so that what fails early becomes a proper error.
 *
 * @param name of the collection, undefined for none
 * @param batches texts of whole Features
 */
export async function* collectionText(
  name: string | undefined,
  batches: AsyncIterable<readonly string[]>,
): AsyncGenerator<string> {
  const head = `{"type":"FeatureCollection",${name === undefined ? '' : `"name":${JSON.stringify(name)},`}"features":[`
  let before = head
  for await (const batch of batches) {
    if (batch.length === 0) continue
    yield before + batch.join(',')
    before = ','
  }
  yield before === head ? `${head}]}` : ']}'
}
