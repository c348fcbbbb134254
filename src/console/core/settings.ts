export type Language = 'en' | 'ja'
export type Theme = 'system' | 'light' | 'dark'

/** Key in the browser's storage, which holds the appearance only, never a secret. */
const KEY = 'fieldgate-console'

interface Settings {
  language: Language
  theme: Theme
}

let settings: Settings = { language: navigator.language.startsWith('ja') ? 'ja' : 'en', theme: 'system' }
const listeners = new Set<() => void>()
const prefersDark = matchMedia('(prefers-color-scheme: dark)')

/** Reads the stored settings and applies them; follows the system's theme from then on. */
export function loadSettings(): void {
  try {
    settings = { ...settings, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>) }
  } catch {
    localStorage.removeItem(KEY)
  }
  apply()
  prefersDark.addEventListener('change', () => {
    apply()
    for (const act of listeners) act()
  })
}

/** Settings in use. */
export function currentSettings(): Readonly<Settings> {
  return settings
}

/** Changes, stores and applies settings, and calls the listeners. */
export function changeSettings(change: Partial<Settings>): void {
  settings = { ...settings, ...change }
  localStorage.setItem(KEY, JSON.stringify(settings))
  apply()
  for (const act of listeners) act()
}

/** Calls `act` after each change. @returns a function that stops it */
export function onSettings(act: () => void): () => void {
  listeners.add(act)
  return () => void listeners.delete(act)
}

/** Returns true when the dark theme is in use. */
export function isDark(): boolean {
  return settings.theme === 'dark' || (settings.theme === 'system' && prefersDark.matches)
}

function apply(): void {
  document.documentElement.lang = settings.language
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
}
