import t from 'tap'
import { oneLine, reasonParts } from '../../../src/console/core/reason.js'
import { refused, unreachable } from '../../../src/sync/faults.js'

const reasonText = (reason: string, language: 'en' | 'ja') => oneLine(reasonParts(reason, language))

t.test('reasonParts: English stays as the gateway words it', async (t) => {
  const { message } = refused(401, 'The key is unknown')
  t.equal(reasonText(message, 'en'), 'The upstream answered 401: The key is unknown')
})

t.test('reasonParts: what the gateway says of upstreams has Japanese sentences', async (t) => {
  const reasons: [found: string, expected: RegExp][] = [
    [refused(401, 'The key is unknown').message, /^認証に失敗しました。.* \(HTTP 401: The key is unknown\)$/],
    [refused(503, '').message, /^送信先が一時的に利用できません \(HTTP 503\)$/],
    [refused(418, 'a\nteapot').message, /^アップストリームに拒否されました \(HTTP 418: a teapot\)$/],
    [unreachable(new Error('refused')).message, /^アップストリームに接続できません。.* \(refused\)$/],
    ['The upstream answered no JSON', /^アップストリームから想定外の応答がありました \(no JSON\)$/],
  ]
  for (const [found, expected] of reasons) t.match(reasonText(found, 'ja'), expected)
})

t.test('reasonParts: errors by name, and parts that are not ready, have Japanese sentences', async (t) => {
  const reasons: [found: string, expected: RegExp][] = [
    [
      'TABLE_DIFFERS: The upstream answered 409: gauge',
      /^相手側のテーブルの列が異なります \(The upstream .*gauge\)$/,
    ],
    ['paused by the operator', /^送信は一時停止されています$/],
    ['2 transfers failed permanently', /^2 件の転送が失敗しました$/],
    ['5 bytes are free, expected the reserve', /^ディスクの空き容量が.* \(5 bytes are free, .*reserve\)$/],
    ['state.db cannot be written', /^データを書き込めません \(state\.db cannot be written\)$/],
  ]
  for (const [found, expected] of reasons) t.match(reasonText(found, 'ja'), expected)
  t.equal(reasonText('NO_SUCH_ERROR: why', 'ja'), 'NO_SUCH_ERROR: why')
})

t.test('reasonParts: an unknown reason stays', async (t) => {
  t.equal(reasonText('disk quota exceeded', 'ja'), 'disk quota exceeded')
})
