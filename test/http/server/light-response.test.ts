import t from 'tap'
import { lightResponse, responseParts } from '../../../src/http/server/light-response.js'

t.test('lightResponse: its parts are those it was made of', async (t) => {
  const response = lightResponse(201, { Allow: 'GET' }, 'text')
  t.equal(response.status, 201)
  t.same(responseParts(response), { status: 201, headers: { Allow: 'GET' }, body: 'text' })
  t.equal(responseParts(new Response('x')), undefined, 'a response that was made elsewhere')
})

t.test('lightResponse: has every member of a web Response', async (t) => {
  const light = lightResponse(404, { 'Content-Type': 'text/plain' }, 'text')
  const whole = new Response('text', { status: 404, headers: { 'Content-Type': 'text/plain' } })
  const names = Object.getOwnPropertyNames(Response.prototype).filter((name) => name !== 'constructor')
  for (const name of names as (keyof Response)[]) {
    const [found, expected] = [light[name], whole[name]]
    if (typeof expected === 'function') t.type(found, 'function', name)
    else if (typeof expected !== 'object') t.equal(found, expected, name)
  }
  t.equal(light.headers.get('content-type'), 'text/plain')
  t.equal(await light.clone().text(), 'text')
  t.equal(await light.text(), 'text')
  t.equal(light.bodyUsed, true)
  t.same(await lightResponse(200, {}, new Uint8Array([1, 2])).bytes(), new Uint8Array([1, 2]))
})

t.test('lightResponse: a header that was added later is among the parts', async (t) => {
  const response = lightResponse(200, { 'Content-Type': 'text/plain' }, 'text')
  response.headers.set('X-More', 'yes')
  const headers = { 'content-type': 'text/plain', 'x-more': 'yes' }
  t.same(responseParts(response), { status: 200, headers, body: 'text' })
})
