import t from 'tap'
import { chooseFormat } from '../../src/ogc/negotiate.js'
import { rejectsWith } from '../support/rejects-with.js'

const TYPES = ['application/geo+json', 'application/json']

t.test('chooseFormat: what f says wins over the header', async (t) => {
  t.equal(chooseFormat('html', 'application/json', TYPES), 'html')
  t.equal(chooseFormat('json', 'text/html', TYPES), 'json')
  t.equal(chooseFormat('geojson', undefined, TYPES), 'json')
  await rejectsWith(t, (async () => chooseFormat('xml', undefined, TYPES))(), 'INVALID_PARAMS')
})

t.test('chooseFormat: the header by weight, then by what is most specific', async (t) => {
  const rows: [string | undefined, string][] = [
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['text/html', 'html'],
    ['text/*', 'html'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html'],
    ['application/geo+json, text/html;q=0.9', 'json'],
    ['application/json;q=0.2, text/html;q=0.1', 'json'],
    ['text/html;q=0, */*', 'json'],
    ['application/*;q=0.4, text/html;q=0.5', 'html'],
    ['TEXT/HTML', 'html'],
    ['text/html;q=high, application/json;q=0.1', 'json'],
  ]
  for (const [accept, format] of rows) t.equal(chooseFormat(null, accept, TYPES), format, String(accept))
  for (const accept of ['application/gml+xml', 'image/*', 'text/html;q=0'])
    await rejectsWith(t, (async () => chooseFormat(null, accept, TYPES))(), 'NOT_ACCEPTABLE')
})
