// Connects the one passkey form of a page to allauth's script. Without scripts there are no passkeys.
"use strict";

const passkeyForm = document.querySelector("form[data-passkey]");
const passkeyParts = {
  ids: {
    add: "passkey-button",
    authenticate: "passkey-button",
    login: "passkey-button",
    credential: "passkey-credential",
    passwordless: "passkey-alone",
    data: "passkey-data",
  },
};

// Cancelled, or no passkey of this site on this device: the browser tells no more.
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey-trouble").hidden = false;
});

if (passkeyForm) {
  const forms = window.allauth.webauthn.forms;
  const connect = { add: forms.addForm, authenticate: forms.authenticateForm, login: forms.loginForm };
  connect[passkeyForm.dataset.passkey](passkeyParts);
}
