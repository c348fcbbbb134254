import { h } from './core/dom.js'
import { faultNotice } from './core/parts.js'
import { loadFacts, session, wasReloaded, whenSessionChanges } from './core/session.js'
import { loadSettings, onSettings } from './core/settings.js'
import { shell } from './shell.js'
import { signInByLink, signInPage } from './sign-in.js'

void start()

/** Shows the sign-in page or the shell, and switches between them when the session changes. */
async function start(): Promise<void> {
  loadSettings()
  const root = document.getElementById('app')
  if (root === null) throw new Error('the page has no #app')
  let close: () => void = () => undefined
  let why: 'signed-in' | 'signed-out' | 'ended' = 'signed-out'
  const show = () => {
    close()
    const view =
      session() === undefined
        ? signInPage(why === 'ended' ? why : wasReloaded() ? 'reloaded' : undefined)
        : shell()
    close = view.close
    root.replaceChildren(view.element)
    view.focus()
  }
  try {
    await loadFacts()
  } catch (error) {
    root.replaceChildren(
      h(
        'main',
        { class: 'page' },
        faultNotice(error, () => location.reload()),
      ),
    )
    return
  }
  whenSessionChanges((change) => {
    why = change
    show()
  })
  onSettings(show)
  await signInByLink()
  show()
}
