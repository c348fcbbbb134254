// Resumable uploads of models, by the protocol tus 1.0.0.

export const UPLOADS = '/api/v2/model_store/uploads'
/** What is said of each model. */
export const MODEL_FACTS = {
  model_store_ddc: 'rain',
  model_kind: 'k',
  model_description: 'd',
  model_meta: {},
}

/**
 * Begins the upload of a model.
 *
 * @param model `sizeBytes` and `sha256` of its bytes
 * @returns its path
 */
export async function beginUpload(url, headers, { sizeBytes, sha256 }) {
  const facts = { method: 'model_store.model.put', data: JSON.stringify(MODEL_FACTS), sha256 }
  const metadata = Object.entries(facts).map(([name, value]) => `${name} ${btoa(value)}`)
  const response = await fetch(`${url}${UPLOADS}`, {
    method: 'POST',
    headers: {
      ...tusHeaders(headers),
      'Upload-Length': `${sizeBytes}`,
      'Upload-Metadata': metadata.join(','),
    },
  })
  if (response.status !== 201) throw new Error(`found ${response.status} ${await response.text()}`)
  return response.headers.get('location')
}

/** Sends bytes from an offset on. @returns the answer */
export function sendBytes(url, headers, offset, body) {
  const sent = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': `${offset}` }
  return fetch(url, { method: 'PATCH', headers: { ...tusHeaders(headers), ...sent }, body, duplex: 'half' })
}

/** Adds the version of the protocol. */
export const tusHeaders = (headers) => ({ ...headers, 'Tus-Resumable': '1.0.0' })
