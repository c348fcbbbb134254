import { h } from './core/dom.js'
import { faultNotice } from './core/parts.js'
import { resumeSession } from './core/resume.js'
import { loadFacts, session, whenSessionChanges } from './core/session.js'
import { loadSettings, onSettings } from './core/settings.js'
import { signInByLink, signInPage } from './sign-in.js'

void start()

/** Shows the sign-in page or the shell, and switches between them when the session changes. */
async function start(): Promise<void> {
  loadSettings()
  const root = document.getElementById('app')
  if (root === null) throw new Error('the page has no #app')
  let close: () => void = () => undefined
  let why: 'signed-in' | 'signed-out' | 'ended' = 'signed-out'
  const put = (view: View) => {
    close()
    close = view.close
    root.replaceChildren(view.element)
    view.focus()
  }
  const show = async () => {
    const now = session()
    if (now === undefined) {
      put(signInPage(why === 'ended'))
      return
    }
    try {
      const { shell } = await loadPages()
      if (session() === now) put(shell())
    } catch (error) {
      tell(error)
    }
  }
  const tell = (error: unknown) =>
    root.replaceChildren(
      h(
        'main',
        { class: 'page' },
        faultNotice(error, () => location.reload()),
      ),
    )
  try {
    await loadFacts()
    loadPages().catch(() => undefined) // while the gateway is asked, or the form is filled in; `show` reports a fault
    await signInByLink()
    // a link that was used before does not end the session that the tab has
    if (session() === undefined) why = (await resumeSession()) ?? why
  } catch (error) {
    tell(error)
    return
  }
  whenSessionChanges((change) => {
    why = change
    void show()
  })
  onSettings(() => void show())
  await show()
}

/** The sign-in page, or everything behind it. */
interface View {
  readonly element: HTMLElement
  focus(): void
  close(): void
}

/** Loads everything behind sign-in, which is most of the console: the form does not wait for it. */
const loadPages = () => import('./shell.js')
