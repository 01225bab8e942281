; The machine's history lies where ordinary users may make folders: Setup makes its folder, with its access list from the first
; instant on, so that nobody else can be the first. The lists are those of core/host/windows/ownership.py, which verifies
; them at each use; a folder that is there already stays as it is, and is judged then.
!define HISTORY_LIST "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
!define BACKUPS_LIST "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

!macro MakeProtected folder list
  Push $0
  Push $1
  Push $2
  System::Call 'advapi32::ConvertStringSecurityDescriptorToSecurityDescriptorW(w "${list}", i 1, *p .r1, p 0) i .r0'
  ${If} $0 != 0
    !if ${NSIS_PTR_SIZE} == 8   ; SECURITY_ATTRIBUTES
      System::Call '*(&i4 24, &i4 0, p r1, &i4 0, &i4 0) p .r2'
    !else
      System::Call '*(&i4 12, p r1, &i4 0) p .r2'
    !endif
    System::Call 'kernel32::CreateDirectoryW(w "${folder}", p r2)'
    System::Free $2
    System::Call 'kernel32::LocalFree(p r1)'
  ${EndIf}
  Pop $2
  Pop $1
  Pop $0
!macroend

!macro MakeHistory   ; with SetShellVarContext all
  !insertmacro MakeProtected "$APPDATA\convalesce" "${HISTORY_LIST}"
  !insertmacro MakeProtected "$APPDATA\convalesce\kept" "${BACKUPS_LIST}"
!macroend

!macro DropEmptyHistory   ; what an administrator changed stays undoable
  RMDir "$APPDATA\convalesce\kept"
  RMDir "$APPDATA\convalesce"
!macroend
