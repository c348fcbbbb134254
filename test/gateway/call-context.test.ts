import t from 'tap'
import { contextMaker } from '../../src/gateway/call-context.js'

const CALLER = { keyId: 'k', keyName: 'name', scopes: [], sessionId: null, endsAtUs: null }

t.test(
  'contexts of calls: they have what all share and what is theirs; the signal is made when it is read',
  (t) => {
    const contextOf = contextMaker({ word: 'shared' })
    let made = 0
    const call = (requestId: string) => ({
      caller: CALLER,
      requestId,
      noteSearchMs: () => undefined,
      endSignal() {
        made++
        return AbortSignal.abort(requestId)
      },
    })
    const [one, two] = [contextOf(call('1')), contextOf(call('2'))]
    t.same([one.word, two.word, one.requestId, two.requestId], ['shared', 'shared', '1', '2'])
    t.equal(one.caller, CALLER)
    t.equal(made, 0)
    t.same([two.signal.reason, one.signal.reason, made], ['2', '1', 2])
    t.end()
  },
)
