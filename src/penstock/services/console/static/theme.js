// Before the page is drawn: what was chosen here, or what the system prefers.
const chosen = localStorage.getItem("theme");
if (chosen) document.documentElement.dataset.theme = chosen;
