import type { CallContext } from '../api/context.js'
import type { Call } from '../http/calls.js'

/**
 * Makes the maker of the contexts of calls. What all calls share is their prototype: to copy its fields for each call
 * would take longer than the call is checked. So `...` copies of a context only what belongs to the call.
 */
export function contextMaker<S extends object>(shared: S): (call: Call) => S & CallContext {
  const common: S & Pick<CallContext, 'signal'> = Object.create(shared, {
    signal: {
      // reading it makes the signal
      get(this: { readonly call: Call }) {
        return this.call.endSignal()
      },
    },
  })
  return (call) =>
    Object.assign(Object.create(common) as typeof common, {
      call,
      caller: call.caller,
      requestId: call.requestId,
      noteSearchMs: call.noteSearchMs,
    })
}
